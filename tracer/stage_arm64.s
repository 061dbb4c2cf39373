// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// cloneStage(flags, stack, block, word, waker): clone(2) into a child that runs stageMain(block),
// or wakerMain(block) if waker is not 0, on stack and does not return. word is the child_tid of
// CLONE_CHILD_CLEARTID.
TEXT ·cloneStage(SB),NOSPLIT|NOFRAME,$0-48
	MOVD flags+0(FP), R0
	MOVD stack+8(FP), R1
	MOVD block+16(FP), R12
	MOVD word+24(FP), R4
	MOVD waker+32(FP), R13
	MOVD $0, R2
	MOVD $0, R3
	MOVD $220, R8
	SVC
	CMP  ZR, R0
	BEQ  child
	MOVD R0, pid+40(FP)
	RET

child:
	// On the new stack, with the thread's g, which is only there for code that looks for it.
	MOVD $0, R29
	SUB  $32, RSP
	MOVD R12, 8(RSP)
	CMP  ZR, R13
	BNE  wake
	BL   ·stageMain(SB)
	BRK

wake:
	BL  ·wakerMain(SB)
	BRK
