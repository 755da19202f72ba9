"""Texts that would like to be more than text."""

A = "a1b2c3d4e5f6"
SESSION = "1f0c5d6e-0000-4000-8000-000000000001"
HOSTILE = """</script><script>window.broken=1</script><img src=x onerror=window.broken=1>
"'><svg onload=window.broken=1> {{ 7*7 }} javascript:window.broken=1 ]]> <!-- \u202e \x1b[2J
[a link](javascript:window.broken=1) ![image](x" onerror=window.broken=1) `<i>` &lt;b&gt;"""
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
