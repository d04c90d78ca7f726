import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * SuiteClient write BOOTSTRAP TOPIC | read BOOTSTRAP TOPIC COUNT
 *
 * <p>Records pass through stdin and stdout in the format of record_lines.py.
 */
public final class SuiteClient {
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private static final Duration TIME_MAX = Duration.ofSeconds(30);

    private final String bootstrap;
    private final String topic;

    private SuiteClient(String bootstrap, String topic) {
        this.bootstrap = bootstrap;
        this.topic = topic;
    }

    public static void main(String[] arguments) throws Exception {
        SuiteClient client = new SuiteClient(arguments[1], arguments[2]);
        if (arguments[0].equals("write")) {
            client.write();
        } else {
            client.read(Integer.parseInt(arguments[3]));
        }
    }

    private void write() throws IOException, ExecutionException, InterruptedException {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            NewTopic wanted = new NewTopic(topic, Optional.of(CODECS.size()), Optional.empty());
            admin.createTopics(List.of(wanted)).all().get();
        }
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<Integer, List<ProducerRecord<byte[], byte[]>>> byPartition =
                input.lines().map(this::parse).collect(Collectors.groupingBy(ProducerRecord::partition));
        for (Map.Entry<Integer, List<ProducerRecord<byte[], byte[]>>> entry : byPartition.entrySet()) {
            send(CODECS.get(entry.getKey()), entry.getValue());
        }
    }

    private void send(String codec, List<ProducerRecord<byte[], byte[]>> records)
            throws ExecutionException, InterruptedException {
        Map<String, Object> settings =
                Map.of("bootstrap.servers", bootstrap, "compression.type", codec, "linger.ms", 100);
        try (Producer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (ProducerRecord<byte[], byte[]> record : records) {
                sent.add(producer.send(record));
            }
            for (Future<RecordMetadata> each : sent) {
                each.get();
            }
        }
    }

    private void read(int count) {
        Map<String, Object> settings =
                Map.of("bootstrap.servers", bootstrap, "enable.auto.commit", false, "auto.offset.reset", "none");
        PrintStream output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (int partition = 0; partition < CODECS.size(); partition++) {
                partitions.add(new TopicPartition(topic, partition));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.nanoTime() + TIME_MAX.toNanos();
            int left = count;
            while (left > 0 && System.nanoTime() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    output.println(format(record));
                    left--;
                }
            }
        }
        output.flush();
    }

    private ProducerRecord<byte[], byte[]> parse(String line) {
        String[] fields = line.split("\t", -1);
        List<Header> headers = new ArrayList<>();
        for (String each : fields[5].split(",")) {
            if (!each.isEmpty()) {
                String[] pair = each.split(":", -1);
                headers.add(new RecordHeader(new String(bytes(pair[0]), StandardCharsets.UTF_8), bytes(pair[1])));
            }
        }
        return new ProducerRecord<>(
                topic, Integer.valueOf(fields[0]), Long.valueOf(fields[2]), bytes(fields[3]), bytes(fields[4]), headers);
    }

    private static String format(ConsumerRecord<byte[], byte[]> record) {
        StringJoiner headers = new StringJoiner(",");
        for (Header header : record.headers()) {
            headers.add(text(header.key().getBytes(StandardCharsets.UTF_8)) + ":" + text(header.value()));
        }
        return String.join(
                "\t",
                Integer.toString(record.partition()),
                Long.toString(record.offset()),
                Long.toString(record.timestamp()),
                text(record.key()),
                text(record.value()),
                headers.toString());
    }

    private static byte[] bytes(String text) {
        return text.equals("-") ? null : Base64.getDecoder().decode(text);
    }

    private static String text(byte[] content) {
        return content == null ? "-" : Base64.getEncoder().encodeToString(content);
    }
}
