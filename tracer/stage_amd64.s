// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// cloneStage(flags, stack, block, word): clone(2) into a child that runs stageMain(block) on
// stack and does not return. word is the child_tid of CLONE_CHILD_CLEARTID.
TEXT ·cloneStage(SB),NOSPLIT|NOFRAME,$0-40
	MOVQ flags+0(FP), DI
	MOVQ stack+8(FP), SI
	MOVQ block+16(FP), R12
	MOVQ word+24(FP), R10
	MOVQ $0, DX
	MOVQ $0, R8
	MOVL $56, AX
	SYSCALL
	CMPQ AX, $0
	JEQ  child
	MOVQ AX, pid+32(FP)
	RET

child:
	// On the new stack, with the thread's g, which is only there for code that looks for it.
	XORL BP, BP
	SUBQ $16, SP
	MOVQ R12, 0(SP)
	CALL ·stageMain(SB)
	INT  $3
