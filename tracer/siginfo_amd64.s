// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// siginfoHandler(sig DI, info SI, context DX): write(siginfoFD, info, 128). The kernel
// saved every register in the frame, and sigreturn puts them back.
TEXT ·siginfoHandler(SB),NOSPLIT|NOFRAME,$0
	MOVL ·siginfoFD(SB), DI
	MOVL $128, DX
	MOVL $1, AX
	SYSCALL
	RET

// bellHandler does nothing: the signal is only there to end a wait4(2).
TEXT ·bellHandler(SB),NOSPLIT|NOFRAME,$0
	RET

// signalReturn is the restorer that amd64 wants (rt_sigreturn(2)).
TEXT ·signalReturn(SB),NOSPLIT|NOFRAME,$0
	MOVL $15, AX
	SYSCALL
	INT $3

TEXT ·handlerAddresses(SB),NOSPLIT,$0-24
	LEAQ ·siginfoHandler(SB), AX
	MOVQ AX, siginfo+0(FP)
	LEAQ ·bellHandler(SB), AX
	MOVQ AX, bell+8(FP)
	LEAQ ·signalReturn(SB), AX
	MOVQ AX, restorer+16(FP)
	RET
