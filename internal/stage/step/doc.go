// Package step is one stage that runs. A [Step] has the plan, the clock, the host and what was read,
// and every read and write of a stage goes through it. [Hosting] and [Access] are what stages need of
// a place for tasks and of a route for requests.
//
// It decides nothing about a stage: package stage does. Start reading at [Step.MakeWrite], then
// [Step.ObserveService].
package step
