// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// siginfoHandler(sig R0, info R1, context R2): write(siginfoFD, info, 128). The kernel
// saved every register in the frame, and sigreturn puts them back.
TEXT ·siginfoHandler(SB),NOSPLIT|NOFRAME,$0
	MOVW ·siginfoFD(SB), R0
	MOVD $128, R2
	MOVD $64, R8
	SVC
	RET

// bellHandler does nothing: the signal is only there to end a wait4(2).
TEXT ·bellHandler(SB),NOSPLIT|NOFRAME,$0
	RET

// signalReturn: rt_sigreturn(2).
TEXT ·signalReturn(SB),NOSPLIT|NOFRAME,$0
	MOVD $139, R8
	SVC
	BRK

TEXT ·handlerAddresses(SB),NOSPLIT,$0-24
	MOVD $·siginfoHandler(SB), R0
	MOVD R0, siginfo+0(FP)
	MOVD $·bellHandler(SB), R0
	MOVD R0, bell+8(FP)
	MOVD $·signalReturn(SB), R0
	MOVD R0, restorer+16(FP)
	RET
