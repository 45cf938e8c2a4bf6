-- What pgmq 1.13 keeps its queues in, written by hand after its documented migrations, with just as much of its functions as
-- creates a queue and announces what is sent to it.
CREATE TABLE meta (
  queue_name varchar UNIQUE NOT NULL,
  is_partitioned boolean NOT NULL,
  is_unlogged boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('pgmq.q_' || TG_ARGV[0] || '.' || TG_OP, NULL);
  RETURN NULL;
END $$;

CREATE FUNCTION make(queue_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  queue_table text := lower('q_' || queue_name);
BEGIN
  IF EXISTS (SELECT FROM meta m WHERE m.queue_name = make.queue_name) THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE %I (
    msg_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    read_ct int NOT NULL DEFAULT 0,
    enqueued_at timestamptz NOT NULL DEFAULT now(),
    last_read_at timestamptz,
    vt timestamptz NOT NULL,
    message jsonb,
    headers jsonb)', queue_table);
  EXECUTE format('CREATE INDEX ON %I (vt ASC)', queue_table);
  EXECUTE format('CREATE TRIGGER announce AFTER INSERT ON %I FOR EACH STATEMENT EXECUTE FUNCTION announce(%L)', queue_table, queue_name);
  INSERT INTO meta VALUES (queue_name, false, false);
END $$;
