// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

TEXT nothing<>(SB),NOSPLIT|NOFRAME,$0
	RET

TEXT ·handlerAddress(SB),NOSPLIT,$0-8
	LEAQ nothing<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

TEXT ·zeroStart(SB),NOSPLIT,$0-8
	LEAQ runtime·noptrbss(SB), AX
	MOVQ AX, ret+0(FP)
	RET

TEXT ·zeroEnd(SB),NOSPLIT,$0-8
	LEAQ runtime·enoptrbss(SB), AX
	MOVQ AX, ret+0(FP)
	RET
