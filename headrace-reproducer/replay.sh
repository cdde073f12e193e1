#!/bin/sh
# headrace 0.1.0
exec headrace opt "$(dirname "$0")/before.sdfg" --pipeline 'choose-schedule'
