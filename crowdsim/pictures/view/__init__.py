"""A recorded run as one page that a browser shows without a network, or as a film.

`moves` makes bytes of arrays and has where agents were, `facts` has what else is shown, `page` writes it;
`film` draws GIF and MP4.

The page itself is `page.html` with `page.css` and, in this order, the scripts that `page.SCRIPTS` names; they
are put into one element.
"""
