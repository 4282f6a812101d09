"""Do features compose? Each combination runs, or is refused for a reason that is declared."""
