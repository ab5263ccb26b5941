"""The web page: a separate process that speaks only the HTTP APIs of a server.

Start with `process.serve_page`. The process passes requests of the page through to the server as
unparsed bytes (`pass_through`, `upstream`) and adds the token, so that the token is in no reply.
One stream of the server's state serves all pages (`SharedStream`). `origin` rejects requests of
other sites. The views are custom elements in `pictures/`, which read the server's data by
themselves; the forms are NiceGUI pages (`pages`). The room imports nothing of the engine.
`report` makes one file of the elements and the data of a run, which opens without a server.

The room needs the extra `ui`.
"""

from podwright.online.ui.report import (
    REPORT_MAX_BYTES as REPORT_MAX_BYTES,
    ReportData as ReportData,
    report_html as report_html,
)
