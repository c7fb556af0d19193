// Package engine runs a plan on the local journal. It asks [plan.Next] for the next step, runs that
// stage, records the result and asks again. It starts, resumes, pauses and ends deployments, and
// passes commands from people to the running stage.
//
// It does not judge health or move traffic: package stage does. It does not decide what follows a
// failure: package plan does. It saves everything that it needs before it acts, so a new engine on
// the same journal continues where a killed one stopped.
//
// Start reading at [Engine.Run].
package engine
