// SPDX-License-Identifier: Apache-2.0

package decode

import "strings"

// Passthrough lists, by reason, every call that runs untraced. It is the seccomp allow
// list as it stands: a name that is neither here nor in Rows is refused with ENOSYS.
var Passthrough = []struct{ Why, Names string }{
	{"works on a descriptor the task holds; the open was judged", `
		read write readv writev pread64 pwrite64 preadv preadv2 pwritev pwritev2 close close_range dup dup2 dup3
		lseek fsync fdatasync sync_file_range syncfs sync fallocate fadvise64 readahead flock ftruncate
		tee vmsplice cachestat  fstat fstatfs   fgetxattr flistxattr
		epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 poll ppoll select pselect6
		eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime pipe pipe2
		inotify_init inotify_init1 inotify_rm_watch`},
	{"memory of the task itself", `
		brk    mincore msync mlock mlock2 mlockall munlock munlockall mseal 
		pkey_alloc pkey_free map_shadow_stack membarrier rseq rseq_slice_yield set_robust_list get_robust_list memfd_create
		     `},
	{"the task's own life, identity and limits; no_new_privs keeps rights from growing", `
		  exit exit_group wait4 waitid set_tid_address restart_syscall rt_sigreturn
		getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgid getpgrp getsid
		         setpgid setsid
		capget   getcwd umask uname sysinfo getrusage times alarm pause 
		arch_prctl set_thread_area get_thread_area  getcpu lsm_get_self_attr lsm_set_self_attr lsm_list_modules
		landlock_create_ruleset landlock_add_rule `},
	{"signals of the task itself", `
		rt_sigaction rt_sigprocmask rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack`},
	{"waits and clocks", `
		futex futex_wait futex_wake futex_waitv futex_requeue nanosleep clock_nanosleep clock_gettime clock_getres
		gettimeofday time getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete
		  getrandom`},
	{"sockets without an address; connect, bind and addressed sends are rows", `
		   accept accept4 shutdown getsockname getpeername getsockopt 
		recvfrom recvmsg recvmmsg`},
	{"System V and POSIX IPC with what the task has attached or opened", `
		shmdt mq_timedsend mq_timedreceive mq_notify mq_getsetattr`},
	{"asynchronous I/O on descriptors the task holds", `
		io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents`},
	{"only look, at what has been opened or at the whole machine", `
		fchdir   statmount listmount listns`},
	{"only read the scheduling of others", `
		getpriority ioprio_get sched_yield sched_getattr sched_getparam sched_getscheduler
		sched_get_priority_max sched_get_priority_min sched_rr_get_interval`},
	{"numbers without an implementation: the kernel answers ENOSYS", `
		_sysctl afs_syscall arch_specific_syscall create_module epoll_ctl_old epoll_wait_old get_kernel_syms getpmsg putpmsg
		query_module security tuxcall vserver
		clock_adjtime64 clock_getres_time64 clock_gettime64 clock_nanosleep_time64 clock_settime64 futex_time64
		io_pgetevents_time64 mq_timedreceive_time64 mq_timedsend_time64 ppoll_time64 pselect6_time64 recvmmsg_time64
		rt_sigtimedwait_time64 sched_rr_get_interval_time64 semtimedop_time64 timer_gettime64 timer_settime64
		timerfd_gettime64 timerfd_settime64 utimensat_time64`},
}

// PassthroughNames is Passthrough as one list.
func PassthroughNames() []string {
	var all []string
	for _, group := range Passthrough {
		all = append(all, strings.Fields(group.Names)...)
	}
	return all
}
