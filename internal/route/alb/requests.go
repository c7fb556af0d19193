package alb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice"
)

// Load is the request load of a target group.
type Load struct {
	PerSecond float64       // in the busiest minute
	Longest   time.Duration // until the response began
}

// ReadLoad reads from CloudWatch the load of a target group in the hour before now. It returns the
// zero value if CloudWatch has no data: AWS omits minutes without requests (Elastic Load Balancing,
// "CloudWatch metrics for your Application Load Balancer").
func ReadLoad(ctx context.Context, api *awscw.Client, balancer, group string, now time.Time) (l Load, err error) {
	if l.PerSecond, err = highestMinute(ctx, api, balancer, group, now, countMetric(balancer),
		cwtypes.StatisticSum); err != nil {
		return Load{}, err
	}
	if l.PerSecond /= 60; strings.Contains(balancer, networkARN) { // it reports no durations
		return l, nil
	}
	longest, err := highestMinute(ctx, api, balancer, group, now, "TargetResponseTime", cwtypes.StatisticMaximum)
	l.Longest = time.Duration(longest * float64(time.Second)).Round(time.Millisecond)
	return l, err
}

// highestMinute returns the highest one-minute value of a statistic in the last hour.
func highestMinute(ctx context.Context, api *awscw.Client, balancer, group string, now time.Time, metric string,
	s cwtypes.Statistic) (v float64, err error) {
	_, name, _ := strings.Cut(balancer, ":loadbalancer/")
	now = now.Truncate(time.Minute)
	out, err := api.GetMetricStatistics(ctx, &awscw.GetMetricStatisticsInput{
		Namespace: aws.String(metricNamespace(balancer)), MetricName: aws.String(metric),
		Statistics: []cwtypes.Statistic{s}, Period: aws.Int32(60),
		StartTime: aws.Time(now.Add(-time.Hour)), EndTime: aws.Time(now),
		Dimensions: metricDimensions(balancer, name, group),
	})
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", metric, sluice.Inner(err))
	}
	for _, d := range out.Datapoints {
		v = max(v, aws.ToFloat64(d.Sum), aws.ToFloat64(d.Maximum))
	}
	return v, nil
}
