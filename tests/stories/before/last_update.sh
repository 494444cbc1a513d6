ln -s update-2 mlm/update-13000
