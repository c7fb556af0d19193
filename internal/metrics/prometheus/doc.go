// Package prometheus reads metrics by the HTTP API of Prometheus, which Amazon Managed Service for
// Prometheus, Thanos, Mimir and VictoriaMetrics have too.
//
// It reads one number per step, and refuses queries with several series. It does not know what a
// query means. Start reading at [Source.Query].
package prometheus
