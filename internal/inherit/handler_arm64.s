// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

TEXT nothing<>(SB),NOSPLIT|NOFRAME,$0
	RET

TEXT ·handlerAddress(SB),NOSPLIT,$0-8
	MOVD $nothing<>(SB), R0
	MOVD R0, ret+0(FP)
	RET

TEXT ·zeroStart(SB),NOSPLIT,$0-8
	MOVD $runtime·noptrbss(SB), R0
	MOVD R0, ret+0(FP)
	RET

TEXT ·zeroEnd(SB),NOSPLIT,$0-8
	MOVD $runtime·enoptrbss(SB), R0
	MOVD R0, ret+0(FP)
	RET
