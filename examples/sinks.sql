-- sinks.sql: sinks for [sink] init_file, or for "sinkd query - <sinks.sql".

-- Everything, to an InfluxDB or another sinkd, each database to one of its own name.
CREATE SINK IF NOT EXISTS "central" TO "http://influx.example.net:8086/write?db={db}"
  TYPE http_line
  USERNAME "gateway"
  BATCH_SIZE 2000
  FLUSH_INTERVAL 10s
  WITH (gzip = true, password_file = '/etc/sinkd/central.password');

-- Alarms at once, on a way of their own.
CREATE SINK IF NOT EXISTS "alarms" TO "http://alarms.example.net:8086/write?db=alarms"
  TYPE http_line
  INCLUDE MEASUREMENTS alarm, "fault*"
  BATCH_SIZE 1
  WITH (timeout = 3s);

-- A look at what the pumps say; may lose points when the log is full.
CREATE SINK IF NOT EXISTS "look" TYPE stdout
  INCLUDE MEASUREMENTS modbus
  FLUSH_INTERVAL 1s
  WITH (on_full = 'drop_oldest')
