// SPDX-License-Identifier: Apache-2.0
// ipc own KEY     makes System V objects in every way, uses and removes them
// ipc make KEY    makes one of each kind and prints their numbers
// ipc use KEY SHM SEM MSG      opens and uses those of somebody else
// ipc remove SHM SEM MSG       removes them
// ipc mq NAME     makes, and removes, a POSIX message queue
// Each act prints a line: what, and "ok" or the errno's name.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

static struct msgbuf1 {
	long type;
	char text[1];
} message = {1, "x"};

static void say(const char *what, long r)
{
	printf("%s %s\n", what, r != -1 ? "ok" : strerrorname_np(errno));
	fflush(stdout);
}

static void use(int shm, int sem, int msg)
{
	struct sembuf up = {0, 1, 0};
	struct timespec soon = {1, 0};
	struct shmid_ds ds;
	char *at = shmat(shm, 0, 0);
	say("shmat", (long)at);
	if (at != (void *)-1) {
		at[0] = 1;
		shmdt(at);
	}
	say("stat", shmctl(shm, IPC_STAT, &ds));
	say("semop", semop(sem, &up, 1));
	say("semtimedop", semtimedop(sem, &up, 1, &soon));
	say("setval", semctl(sem, 0, SETVAL, 3));
	say("getval", semctl(sem, 0, GETVAL));
	say("msgsnd", msgsnd(msg, &message, 1, IPC_NOWAIT));
	say("msgrcv", msgrcv(msg, &message, 1, 0, IPC_NOWAIT));
}

static void drop(int shm, int sem, int msg)
{
	say("rm shm", shmctl(shm, IPC_RMID, 0));
	say("rm sem", semctl(sem, 0, IPC_RMID));
	say("rm msg", msgctl(msg, IPC_RMID, 0));
}

int main(int argc, char **argv)
{
	int key = argc > 2 ? (int)strtol(argv[2], 0, 0) : 0, i;
#define IS(x) if (argc > 2 && !strcmp(argv[1], x))
	IS("make") {
		printf("%d %d %d\n", shmget(key, 100, IPC_CREAT | 0600), semget(key, 1, IPC_CREAT | 0600), msgget(key, IPC_CREAT | 0600));
		return 0;
	}
	IS("use") {
		say("shmget", shmget(key, 0, 0));
		say("shmget create", shmget(key, 100, IPC_CREAT | 0600));
		say("semget", semget(key, 0, 0));
		say("msgget create", msgget(key, IPC_CREAT | 0600));
		use(atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
		return 0;
	}
	IS("remove") {
		drop(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	IS("mq") {
		say("mq_open", mq_open(argv[2], O_CREAT | O_RDWR, 0600, 0));
		say("mq_unlink", mq_unlink(argv[2]));
		return 0;
	}
	IS("own") {
		static const int flags[] = {0, IPC_CREAT, IPC_CREAT | IPC_EXCL};
		say("absent", shmget(key, 0, 0));
		say("absent", semget(key, 0, 0));
		say("absent", msgget(key, 0));
		say("no number", shmctl(0x7ffffffe, IPC_RMID, 0));
		say("no number", semctl(-1, 0, IPC_RMID));
		for (i = 0; i < 3; i++) {
			int k = i ? key : IPC_PRIVATE;
			int shm = shmget(k, 100, flags[i] | 0600), sem = semget(k, 1, flags[i] | 0600), msg = msgget(k, flags[i] | 0600), status;
			if (shm < 0 || sem < 0 || msg < 0)
				perror("get");
			if (i) {
				printf("again %d %d %d\n", shm == shmget(key, 0, 0), sem == semget(key, 0, IPC_CREAT), msg == msgget(key, 0));
				say("exclusive", shmget(key, 100, IPC_CREAT | IPC_EXCL | 0600));
			}
			fflush(stdout);
			if (!fork()) {
				use(shm, sem, msg);
				_exit(0);
			}
			wait(&status);
			char *at = shmat(shm, 0, 0);
			printf("child's byte %d\n", at[0]);
			drop(shm, sem, msg);
			// A removed segment keeps its number until the last has let go of it.
			char *more = shmat(shm, 0, 0);
			say("attach the removed", (long)more);
			shmdt(at);
			shmdt(more);
			say("attach what is gone", (long)shmat(shm, 0, 0));
			say("remove what is gone", msgctl(msg, IPC_RMID, 0));
		}
		return 0;
	}
	return 2;
}
