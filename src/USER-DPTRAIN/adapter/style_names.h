#pragma once

/// Names with which messages of the styles begin.
inline constexpr char FIX_STYLE[] = "Fix dptrain";
inline constexpr char PAIR_STYLE[] = "Pair style dptrain";
