package cloudwatch

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// GetMetricData sums up the data of several metrics. It refuses expressions, which are not
// simulated.
func (s *Service) GetMetricData(ctx context.Context, in *awscw.GetMetricDataInput) (*awscw.GetMetricDataOutput, error) {
	if err := checkQueries(in); err != nil {
		return nil, err
	}
	at, err := parseDataToken(val(in.NextToken), len(in.MetricDataQueries))
	if err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.GetMetricDataOutput, error) {
		page := dataPage{left: maxReturnedPoints, from: at, ascends: in.ScanBy == cwtypes.ScanByTimestampAscending,
			out: &awscw.GetMetricDataOutput{MetricDataResults: []cwtypes.MetricDataResult{},
				Messages: []cwtypes.MessageData{}}}
		if in.MaxDatapoints != nil {
			page.left = min(page.left, int(*in.MaxDatapoints))
		}
		for i := at.query; i < len(in.MetricDataQueries) && page.out.NextToken == nil; i++ {
			q := &in.MetricDataQueries[i]
			if q.ReturnData != nil && !*q.ReturnData {
				continue
			}
			page.addQuery(i, q, querySeries(tx, in, q))
		}
		return page.out, nil
	})
}

func checkQueries(in *awscw.GetMetricDataInput) error {
	switch n := len(in.MetricDataQueries); {
	case n == 0:
		return missingParameter("The parameter MetricDataQueries is required.")
	case n > maxQueries:
		return validationError("The collection MetricDataQueries must not have a size greater than %d.", maxQueries)
	}
	ids := map[string]bool{}
	for i := range in.MetricDataQueries {
		q := &in.MetricDataQueries[i]
		if ids[val(q.Id)] {
			return validationError("The values for parameter id in MetricDataQueries are not unique.")
		}
		ids[val(q.Id)] = true
		if err := checkQuery(in, i); err != nil {
			return err
		}
	}
	return nil
}

// checkQuery checks the i-th query.
func checkQuery(in *awscw.GetMetricDataInput, i int) error {
	q := &in.MetricDataQueries[i]
	id := val(q.Id)
	switch {
	case id == "" || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", rune(id[0])):
		return validationError(
			"The value %q for parameter Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$.", id)
	case q.Expression != nil:
		return notSimulated("Metric math, as in Expression,")
	case q.MetricStat == nil || q.MetricStat.Metric == nil:
		return missingParameter("The parameter MetricDataQueries.member.%d.MetricStat is required.", i+1)
	}
	if _, ok := parseStatistic(val(q.MetricStat.Stat)); !ok {
		return validationError("The value %s for parameter MetricDataQueries.member.%d.MetricStat.Stat is not a valid "+
			"statistic.", val(q.MetricStat.Stat), i+1)
	}
	_, err := windowOf(in.StartTime, in.EndTime, q.MetricStat.Period, q.MetricStat.Unit)
	return err
}

// querySeries returns the values of a query in the requested order.
func querySeries(tx *world.Tx, in *awscw.GetMetricDataInput, q *cwtypes.MetricDataQuery) series {
	x := q.MetricStat
	w, _ := windowOf(in.StartTime, in.EndTime, x.Period, x.Unit)
	stat, _ := parseStatistic(val(x.Stat))
	all := w.valuesOf(findMetric(tx, x.Metric.Namespace, x.Metric.MetricName, x.Metric.Dimensions), stat)
	if in.ScanBy != cwtypes.ScanByTimestampAscending {
		slices.Reverse(all.times)
		slices.Reverse(all.values)
	}
	return all
}

// dataPage is one page of GetMetricData. A query whose values do not fit continues on the next
// page; queries after it are not on the page.
type dataPage struct {
	left    int
	from    dataToken
	ascends bool
	out     *awscw.GetMetricDataOutput
}

// addQuery adds the values of the i-th query that are not on earlier pages, as far as they fit.
func (p *dataPage) addQuery(i int, q *cwtypes.MetricDataQuery, all series) {
	skip := 0
	for i == p.from.query && skip < len(all.times) && p.isOnEarlierPage(all.times[skip]) {
		skip++
	}
	n := min(p.left, len(all.times)-skip)
	p.left -= n
	r := cwtypes.MetricDataResult{Id: ptr(*q.Id), Label: ptr(val(q.MetricStat.Metric.MetricName)),
		StatusCode: cwtypes.StatusCodeComplete,
		Timestamps: append([]time.Time{}, all.times[skip:skip+n]...),
		Values:     append([]float64{}, all.values[skip:skip+n]...)}
	if q.Label != nil {
		r.Label = ptr(*q.Label)
	}
	if skip+n < len(all.times) {
		r.StatusCode = cwtypes.StatusCodePartialData
		next := dataToken{query: i}
		if skip+n > 0 {
			next.last = all.times[skip+n-1].Unix()
		}
		p.out.NextToken = ptr(next.String())
	}
	if n > 0 || r.StatusCode == cwtypes.StatusCodeComplete {
		p.out.MetricDataResults = append(p.out.MetricDataResults, r)
	}
}

// isOnEarlierPage reports whether a value of the first query of the page was returned before. Values
// that became visible since are newer, so a position would not do.
func (p *dataPage) isOnEarlierPage(at time.Time) bool {
	last := p.from.last
	return last != 0 && (p.ascends && at.Unix() <= last || !p.ascends && at.Unix() >= last)
}

// dataToken is the position of the next value: a query, and the time of its last value on earlier
// pages, or 0.
type dataToken struct {
	query int
	last  int64
}

func (t dataToken) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "data %d %d", t.query, t.last))
}

func parseDataToken(text string, queries int) (t dataToken, err error) {
	if text == "" {
		return t, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, badToken()
	}
	if _, err := fmt.Sscanf(string(raw), "data %d %d", &t.query, &t.last); err != nil || t.query < 0 ||
		t.query >= queries || t.last < 0 {
		return t, badToken()
	}
	return t, nil
}
