// Package engine runs a plan on the local journal: it asks [plan.Next] what
// comes, runs that stage, writes down how it went, and asks again. It begins,
// resumes, pauses and ends deployments, and hands people's commands on.
//
// It decides nothing about health or traffic (stages do), nor what follows from
// a failure (package plan does). Everything that it must remember is in the
// journal before it matters, so that a new engine on the same journal goes on
// where a killed one stopped.
//
// Start reading at [Engine.Run].
package engine
