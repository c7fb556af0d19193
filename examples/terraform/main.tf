# One ECS service behind a listener rule. Terraform deploys the service, sluice_wait waits for the
# deployment, and the rule keeps the weights of a running release.

terraform {
  required_providers {
    aws    = { source = "hashicorp/aws" }
    sluice = { source = "sluice-ecs/sluice" }
  }
}

variable "region" { default = "us-east-1" }
variable "cluster" { default = "prod" }
variable "image" { default = "sim/web:v2" }
variable "subnets" { type = list(string) }
variable "listener_arn" {}
variable "stable_group_arn" {}
variable "canary_group_arn" {}

provider "aws" {
  region = var.region
}

provider "sluice" {
  region = var.region
}

resource "aws_ecs_task_definition" "shop" {
  family                   = "shop"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 256
  memory                   = 512
  container_definitions = jsonencode([{
    name         = "shop"
    image        = var.image
    portMappings = [{ containerPort = 80 }]
  }])
}

resource "aws_ecs_service" "shop" {
  name            = "shop"
  cluster         = var.cluster
  task_definition = aws_ecs_task_definition.shop.arn
  desired_count   = 2
  launch_type     = "FARGATE"

  # sluice_wait waits, and it knows a rollback from a success.
  wait_for_steady_state = false

  network_configuration {
    subnets = var.subnets
  }
  load_balancer {
    target_group_arn = var.stable_group_arn
    container_name   = "shop"
    container_port   = 80
  }
  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  lifecycle {
    ignore_changes = [desired_count] # auto scaling sets it
  }
  depends_on = [aws_lb_listener_rule.shop]
}

resource "sluice_wait" "shop" {
  cluster         = var.cluster
  service         = aws_ecs_service.shop.name
  task_definition = aws_ecs_task_definition.shop.arn

  timeouts {
    create = "15m"
    update = "15m"
  }
}

# The rule is named by its listener and priority, because a data source cannot refer to the resource
# that uses it. The initial weights apply only while the rule does not exist.
data "sluice_live_weights" "shop" {
  listener_arn = var.listener_arn
  priority     = 10
  initial_weights = {
    (var.stable_group_arn) = 100
    (var.canary_group_arn) = 0
  }
}

resource "aws_lb_listener_rule" "shop" {
  listener_arn = var.listener_arn
  priority     = 10

  condition {
    path_pattern {
      values = ["/shop/*"]
    }
  }

  action {
    type = "forward"
    forward {
      dynamic "target_group" {
        for_each = data.sluice_live_weights.shop.forward[0].target_group
        content {
          arn    = target_group.value.arn
          weight = target_group.value.weight
        }
      }
    }
  }
}

output "outcome" {
  value = sluice_wait.shop.outcome
}

output "weights" {
  value = { for g in data.sluice_live_weights.shop.forward[0].target_group : g.arn => g.weight }
}
