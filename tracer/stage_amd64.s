// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// cloneStage(flags, stack, block, word, waker): clone(2) into a child that runs stageMain(block),
// or wakerMain(block) if waker is not 0, on stack and does not return. word is the child_tid of
// CLONE_CHILD_CLEARTID.
TEXT ·cloneStage(SB),NOSPLIT|NOFRAME,$0-48
	MOVQ flags+0(FP), DI
	MOVQ stack+8(FP), SI
	MOVQ block+16(FP), R12
	MOVQ word+24(FP), R10
	MOVQ waker+32(FP), R13
	MOVQ $0, DX
	MOVQ $0, R8
	MOVL $56, AX
	SYSCALL
	CMPQ AX, $0
	JEQ  child
	MOVQ AX, pid+40(FP)
	RET

child:
	// On the new stack, with the thread's g, which is only there for code that looks for it.
	XORL BP, BP
	SUBQ $16, SP
	MOVQ R12, 0(SP)
	CMPQ R13, $0
	JNE  wake
	CALL ·stageMain(SB)
	INT  $3

wake:
	CALL ·wakerMain(SB)
	INT  $3
