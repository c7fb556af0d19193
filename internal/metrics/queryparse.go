package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// ParseQuery returns the query of a text, with one value per step. A text has one of these forms:
//
//	AWS/ApplicationELB RequestCount Sum LoadBalancer=app/x/1,TargetGroup=targetgroup/y/2
//
// is a metric: namespace, metric, statistic and dimensions, as `aws cloudwatch` lists them. A
// statistic is one of CloudWatch's, such as Average, p99.9, TM(5%:95%) or TC(0.5:).
//
//	= 100 * e / a
//	e: AWS/ApplicationELB HTTPCode_Target_5XX_Count Sum LoadBalancer=app/x/1
//	a: AWS/ApplicationELB RequestCount Sum LoadBalancer=app/x/1
//
// is an expression of CloudWatch's metric math with the metrics that it names, one per line. A
// SEARCH or a SELECT needs no metrics.
//
//	{"Metric": {"Namespace": …, "MetricName": …, "Dimensions": [{"Name": …, "Value": …}]}, "Stat": "Sum"}
//
// is a MetricStat of CloudWatch's API, and a JSON list is its MetricDataQueries. Names with spaces or
// commas need such a form.
func ParseQuery(text string, step time.Duration) (Query, error) {
	text = strings.TrimSpace(text)
	q := Query{text: text, period: step}
	if err := checkPeriod(step); err != nil {
		return q, err
	}
	var err error
	switch {
	case text == "":
		err = errors.New("the query is empty")
	case text[0] == '[':
		err = decodeStrictly(text, &q.parts)
	case text[0] == '{':
		stat := &cwtypes.MetricStat{}
		err = decodeStrictly(text, stat)
		q.parts = []cwtypes.MetricDataQuery{{Id: aws.String("m"), MetricStat: stat}}
	case text[0] == '=':
		q.parts, err = parseMath(text[1:])
	default:
		var s Series
		s, err = parseSeries(text)
		q.parts = []cwtypes.MetricDataQuery{s.newQuery("m")}
	}
	if err == nil {
		err = q.complete()
	}
	return q, err
}

func decodeStrictly(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the query is not the JSON of a MetricStat or of a list of MetricDataQueries: %w", err)
	}
	if rest, _ := readRest(d); len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("the query has text after its JSON")
	}
	return nil
}

func readRest(d *json.Decoder) ([]byte, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(d.Buffered())
	return b.Bytes(), err
}

// parseSeries returns the series of "namespace metric statistic dimensions".
func parseSeries(text string) (Series, error) {
	words := strings.Fields(text)
	if len(words) < 3 {
		return Series{}, fmt.Errorf("%q is no metric: write namespace, metric, statistic and dimensions, as in "+
			"AWS/ApplicationELB RequestCount Sum LoadBalancer=app/x/1", text)
	}
	s := Series{Namespace: words[0], Metric: words[1], Statistic: words[2]}
	for _, d := range strings.Split(strings.Join(words[3:], ","), ",") {
		if d = strings.TrimSpace(d); d == "" {
			continue
		}
		name, value, ok := strings.Cut(d, "=")
		if !ok || name == "" || value == "" {
			return Series{}, fmt.Errorf("%q is no dimension: write name=value, with commas between dimensions", d)
		}
		s.Dimensions = append(s.Dimensions, Dimension{name, value})
	}
	return s, nil
}

// parseMath returns the queries of an expression and of the metrics that are named below it.
func parseMath(text string) ([]cwtypes.MetricDataQuery, error) {
	lines := strings.Split(text, "\n")
	result := cwtypes.MetricDataQuery{Id: aws.String("result"), Expression: aws.String(strings.TrimSpace(lines[0]))}
	all := []cwtypes.MetricDataQuery{result}
	for _, line := range lines[1:] {
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, metric, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name != identifier.FindString(name) {
			return nil, fmt.Errorf("%q is no metric of an expression: write a name in lower case, a colon and a metric",
				strings.TrimSpace(line))
		}
		s, err := parseSeries(metric)
		if err != nil {
			return nil, err
		}
		part := s.newQuery(name)
		part.ReturnData = aws.Bool(false)
		all = append(all, part)
	}
	return all, nil
}

// statistics are those of CloudWatch (CloudWatch User Guide, "Statistics definitions").
var statistics = regexp.MustCompile(`^(SampleCount|Average|Sum|Minimum|Maximum|IQM|p(100|\d{1,2}(\.\d+)?)|` +
	`(tm|TM|wm|WM|tc|TC|ts|TS)\d{1,2}(\.\d+)?|(TM|WM|TC|TS|PR)\([\d.%]*:[\d.%]*\))$`)

// metricsFunction refers to all metrics of a call, also those of other gates.
var metricsFunction = regexp.MustCompile(`(?i)\bMETRICS\s*\(`)

// complete checks the parts, and sets the period where the text has none.
func (q *Query) complete() error {
	var ids []string
	returned := 0
	for i := range q.parts {
		p := &q.parts[i]
		if err := q.completePart(p); err != nil {
			return err
		}
		if slices.Contains(ids, *p.Id) {
			return fmt.Errorf("two metrics of the query have the ID %q", *p.Id)
		}
		ids = append(ids, *p.Id)
		if p.ReturnData == nil || *p.ReturnData {
			returned++
		}
	}
	if returned != 1 {
		return fmt.Errorf("%d metrics of the query return data, and a gate needs one: set ReturnData to false for "+
			"the others", returned)
	}
	return nil
}

func (q *Query) completePart(p *cwtypes.MetricDataQuery) error {
	seconds := aws.Int32(int32(q.period / time.Second))
	id := aws.ToString(p.Id)
	switch {
	case id == "" || id != identifier.FindString(id):
		return fmt.Errorf("%q is no ID of a metric: it begins with a letter in lower case", id)
	case (p.Expression == nil) == (p.MetricStat == nil):
		return fmt.Errorf("the metric %q needs either an Expression or a MetricStat", id)
	case p.MetricStat != nil:
		p.MetricStat.Period = seconds
		return checkMetric(p.MetricStat)
	case strings.TrimSpace(*p.Expression) == "":
		return errors.New("the expression is empty")
	case metricsFunction.MatchString(quotedText.ReplaceAllString(*p.Expression, "''")):
		return errors.New("METRICS() means all metrics of a call, and gates share one call: name the metrics")
	}
	p.Period, q.isMath = seconds, true
	return nil
}

func checkMetric(s *cwtypes.MetricStat) error {
	switch {
	case s.Metric == nil || aws.ToString(s.Metric.Namespace) == "" || aws.ToString(s.Metric.MetricName) == "":
		return errors.New("the metric needs a Namespace and a MetricName")
	case !statistics.MatchString(aws.ToString(s.Stat)):
		return fmt.Errorf("%q is no statistic of CloudWatch, such as Sum, Average, p99 or TC(0.5:)",
			aws.ToString(s.Stat))
	case len(s.Metric.Dimensions) > 30:
		return fmt.Errorf("the metric has %d dimensions, and CloudWatch has at most 30", len(s.Metric.Dimensions))
	}
	return nil
}
