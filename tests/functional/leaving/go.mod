module example.com/zoo/leaving

go 1.26
