# shellcheck shell=bash disable=SC2034
# The paper's (3.1, 3.2, 4, Table 10, A.2). Where it searched a rate or a batch, one of those is here; --search tries all.
#       name       layer rate  calibration
encoder mbert      8     2e-5
encoder xlm-r-base 7     2e-5  --sts-epochs 5
encoder xlm-r      13    5e-6  --sts-epochs 5 --learning-rate 5e-6 --batch-size 64
encoder labse      last  2e-5

PARAMETERS_OF=(["mbert"]=8.6e7 ["xlm-r-base"]=8.6e7 ["xlm-r"]=3.04e8 ["labse"]=8.6e7)

CURVES=(mbert labse) # of Figure 2

XNLI_LANGUAGES=(en fr es de el bg ru tr ar vi th zh hi sw ur)
GAP_SOURCE=ur # of Table 2
NAME_LANGUAGES=(ar he vi id jv ms tl eu ml ta te af nl en de el bn hi mr ur fa fr it pt es bg ru ja ka ko th sw yo my zh kk tr et "fi" hu)
STS_LANGUAGES=(ar en es)
VALID_LANGUAGES=(cs de ja pl ru ta zh)

XNLI_OPTIONS=(--epochs 10 --batch-size 32)     # rates 5e-6, 1e-5, 2e-5 and batches 16, 32, 128 were searched
MANUAL_OPTIONS=(--warmup 180)                  # a tenth of 10 x 6,000 / 32 updates
NAMES_OPTIONS=(--epochs 10 --batch-size 32 --checkpoints 21) # the same rates, batches 32 and 128; 6,250 updates, after every 300
ANSWERS_OPTIONS=(--epochs 2 --batch-size 12 --learning-rate 3e-5 --checkpoints 30) # about 15,000 updates, after every 500
