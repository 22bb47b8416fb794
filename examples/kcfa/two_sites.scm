; One function, called at two places. For k = 0 the analysis finds that `a` may be #t or #f; for
; k = 1 that it is #t.
(let ((id (lambda (x) x)))
  (let ((a (id #t)))
    (let ((b (id #f)))
      a)))
