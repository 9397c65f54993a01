"""The site: the warehouse as static pages, which need no server. See `build` for how they are written.

A kind of page is a query (`kernel.sql`: one row a page, all that the page shows nested in it) and a template
of the same name. `names.sql` says where pages lie, `plots` where dots and lines do, `words` how values read.
"""
