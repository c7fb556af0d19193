package dataplane

// LimitSockets sets how many sockets of tasks are opened unasked, and in all.
func (p *Plane) LimitSockets(eager, most int64) { p.budget.eager, p.budget.most = eager, most }
