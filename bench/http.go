// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// httpLoad is the load program's part that serves and asks over loopback.
const httpLoad = "http"

// Shape of the HTTP load: clients at a time, requests a connection, bytes of a page.
const (
	httpClients = 4
	httpEach    = 10
	httpPage    = 4096
)

// serveAndAsk makes at least calls requests of HTTP/1.1 over loopback to a server in the same
// process. The few lines of the protocol are written out: net/http would be in every
// ptguard for this alone, with what it sets up at each start.
func serveAndAsk(calls int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // the process ends
	page := strings.Repeat("x", httpPage)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c, page)
		}
	}()
	rounds := (calls + httpClients*httpEach - 1) / (httpClients * httpEach)
	errs := make([]error, httpClients)
	var all sync.WaitGroup
	from := time.Now()
	for i := range httpClients {
		all.Go(func() {
			for r := 0; r < rounds && errs[i] == nil; r++ {
				errs[i] = askPages(l.Addr().String())
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(loadResult{Calls: rounds * httpClients * httpEach, NS: time.Since(from).Nanoseconds()})
}

// answer serves one connection.
func answer(c net.Conn, page string) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for {
		if err := header(in, nil); err != nil {
			return
		}
		if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(page), page); err != nil {
			return
		}
	}
}

// askPages makes the requests of one connection.
func askPages(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for range httpEach {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return err
		}
		length := 0
		if err := header(in, &length); err != nil {
			return err
		}
		if n, err := io.CopyN(io.Discard, in, int64(length)); err != nil || n != httpPage {
			return fmt.Errorf("%d bytes of a page: %w", n, err)
		}
	}
	return nil
}

// header reads to the empty line, and the length if that is asked for.
func header(in *bufio.Reader, length *int) error {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			return nil
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok && length != nil {
			if *length, err = strconv.Atoi(value); err != nil {
				return err
			}
		}
	}
}
