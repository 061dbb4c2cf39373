// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func cloneThread(stack, tid unsafe.Pointer) int
//
// See thread_amd64.s.
TEXT ·cloneThread(SB), NOSPLIT, $0-24
	MOVD $0x350f00, R0
	MOVD stack+0(FP), R1
	MOVD tid+8(FP), R2
	MOVD $0, R3
	MOVD R2, R4
	MOVD $220, R8
	SVC
	CBNZ R0, parent
	MOVD $0, R0
	MOVD $93, R8
	SVC
	BRK
parent:
	MOVD R0, ret+16(FP)
	RET
