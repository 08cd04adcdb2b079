module zoo.test/admission

go 1.26.0
