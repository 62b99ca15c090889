import os
import sys

from trainc import find_binary

try:
    binary = find_binary()
except FileNotFoundError as error:
    sys.exit(f"trainc: {error}")
os.execv(binary, ["trainc", *sys.argv[1:]])
