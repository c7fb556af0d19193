import * as aws from '@pulumi/aws'
import * as pulumi from '@pulumi/pulumi'
import { WaitForEcsDeployment } from '@sluice-ecs/pulumi'

const config = new pulumi.Config()

const cluster = new aws.ecs.Cluster('cluster', { name: 'shop' })

const taskDef = new aws.ecs.TaskDefinition('taskDef', {
  family: 'web',
  networkMode: 'awsvpc',
  requiresCompatibilities: ['FARGATE'],
  cpu: '256',
  memory: '512',
  containerDefinitions: JSON.stringify([{ name: 'web', image: config.require('image'), essential: true }]),
})

const service = new aws.ecs.Service('service', {
  name: 'web',
  cluster: cluster.arn,
  taskDefinition: taskDef.arn,
  desiredCount: 2,
  launchType: 'FARGATE',
  networkConfiguration: { subnets: config.requireObject<string[]>('subnets') },
  deploymentCircuitBreaker: { enable: true, rollback: true },
})

const deployment = new WaitForEcsDeployment('wait-for-deployment', {
  clusterName: cluster.name,
  serviceName: service.name,
  desiredTaskDef: taskDef.arn,
  timeoutMs: 10 * 60 * 1000,
})

export const status = deployment.status
export const message = pulumi.all([deployment.status, deployment.failureMessage]).apply(
  ([status, failureMessage]) => `deployment ended with status ${status}: ${failureMessage}`)
