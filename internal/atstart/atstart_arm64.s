// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// prlimit64(0, RLIMIT_NOFILE, NULL, limit)
TEXT ·readOpenFiles(SB),NOSPLIT,$0-8
	MOVD limit+0(FP), R3
	MOVD $0, R2
	MOVD $7, R1
	MOVD $0, R0
	MOVD $261, R8
	SVC
	RET
