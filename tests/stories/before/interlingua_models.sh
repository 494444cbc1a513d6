mkdir OUT
ln -s ../outputs/interlingua/multi30k/{models,data} OUT
ln -s outputs/interlingua/multi30k/models models
ln -s mnmt-seed1 models/mnmt
ln -s repaired-seed1 models/variable
