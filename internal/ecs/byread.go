package ecs

// ByRead is added to the result of a write whose response was lost.
const ByRead = ", as a read shows (the response was lost)"
