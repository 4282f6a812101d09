"""A recorded run as one page that a browser shows without a network, or as a film.

`packing` makes bytes of arrays, `facts` and `moves` gather what is shown, `page` writes it; `film` draws GIF and MP4.

The page itself is `page.html` with `page.css` and, in this order, the scripts that `page.SCRIPTS` names; they are put into one element.
"""
