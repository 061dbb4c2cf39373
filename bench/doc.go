// SPDX-License-Identifier: Apache-2.0

// Package bench measures what ptguard costs on the machine it runs on: the same load bare,
// guarded in several ways, and under the peers that are installed, in turn, so that all meet
// the same machine. It is what "ptguard bench" runs.
//
// Nothing here is a test of speed, and no figure of it is a promise: a shared machine shows
// ratios within one run, medians, and counts.
package bench

//go:generate go run ./page
