"""Names of the files in the folder of ``dptrain learn``."""

INPUT, DATA, MODEL = "in.learn", "structure.data", "model.dp"
LOG, EARLIER_LOG = "log.learn", "log.learn.before"
SETTINGS = "learn.json"
RESTARTS = ("learn_restart_a", "learn_restart_b")
TEST_INPUT, TEST_LOG, TEST_DUMP = "in.test", "log.test", "test.dump"
