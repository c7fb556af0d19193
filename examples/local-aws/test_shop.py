"""Tests of a program that uses boto3, against the local AWS: python3 -m unittest test_shop.py

Start sluice sim --from examples/shop first, and paste the lines to export. boto3 reads them.
"""

import os
import unittest
import urllib.request

import boto3


class TestShop(unittest.TestCase):
    def setUp(self):
        # Each test begins with the world that the local AWS had at its start.
        url = os.environ["AWS_ENDPOINT_URL"] + "/_sluice/reset"
        urllib.request.urlopen(urllib.request.Request(url, method="POST")).close()
        self.ecs = boto3.client("ecs")

    def service(self):
        return self.ecs.describe_services(cluster="prod", services=["shop"])["services"][0]

    def test_more_tasks_run(self):
        self.ecs.update_service(cluster="prod", service="shop", desiredCount=6)
        waiter = self.ecs.get_waiter("services_stable")
        waiter.wait(cluster="prod", services=["shop"], WaiterConfig={"Delay": 1})
        self.assertEqual(self.service()["runningCount"], 6)

    def test_reset_restores_the_service(self):
        self.assertEqual(self.service()["desiredCount"], 4)

    def test_throttled_call_is_repeated(self):
        # The local AWS refuses the next call, and boto3 repeats it.
        url = os.environ["AWS_ENDPOINT_URL"] + "/_sluice/faults"
        urllib.request.urlopen(url, data=b"throttle ecs:DescribeServices times=1").close()
        self.assertEqual(self.service()["status"], "ACTIVE")


if __name__ == "__main__":
    unittest.main()
