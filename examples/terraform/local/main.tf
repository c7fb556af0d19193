# A wait for prod/web of the local AWS: sluice sim --world examples/rolling/world.yaml

terraform {
  required_providers {
    sluice = { source = "sluice-ecs/sluice" }
  }
}

provider "sluice" {
  endpoint = "http://127.0.0.1:4566"
}

variable "release" {
  default = "1"
}

resource "sluice_wait" "web" {
  cluster  = "prod"
  service  = "web"
  triggers = { release = var.release }
}

data "sluice_live_weights" "web" {
  load_balancer_arn = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/web/0123456789abcdef"
  port              = 80
}

output "revision" {
  value = sluice_wait.web.revision
}

output "weights" {
  value = data.sluice_live_weights.web.forward[0].target_group
}
