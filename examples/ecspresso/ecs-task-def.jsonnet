local must_env = std.native('must_env');
local env = std.native('env');
local tfstate = std.native('tfstate');
{
  family: 'web',
  networkMode: 'awsvpc',
  requiresCompatibilities: ['FARGATE'],
  cpu: '256',
  memory: '512',
  executionRoleArn: tfstate('aws_iam_role.execution.arn'),
  containerDefinitions: [
    {
      name: 'web',
      image: 'sim/web:' + must_env('IMAGE_TAG'),
      essential: true,
      environment: [{ name: 'LOG_LEVEL', value: env('LOG_LEVEL', 'info') }],
      portMappings: [{ containerPort: 80, protocol: 'tcp' }],
      logConfiguration: {
        logDriver: 'awslogs',
        options: {
          'awslogs-group': '/ecs/web',
          'awslogs-region': 'us-east-1',
          'awslogs-stream-prefix': 'web',
          'awslogs-create-group': 'true',
        },
      },
    },
  ],
}
