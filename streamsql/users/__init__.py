"""Who may use a server, whatever protocol they speak: accounts, logins, how often one may try."""
