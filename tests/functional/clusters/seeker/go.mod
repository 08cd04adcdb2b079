module example.com/zoo/seeker

go 1.26
