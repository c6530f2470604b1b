# SPDX-License-Identifier: Apache-2.0
"""evidex beside other libraries, one module each; none of them is imported before it is asked for."""
