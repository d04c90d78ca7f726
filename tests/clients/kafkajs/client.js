'use strict'

// node client.js codecs | write BOOTSTRAP TOPIC | read BOOTSTRAP TOPIC COUNT
//
// Records pass through stdin and stdout in the format of record_lines.py. The modules are found through
// NODE_PATH, so that nothing is installed beside this file.

const fs = require('fs')
const { Kafka, CompressionTypes, CompressionCodecs, Partitioners, logLevel } = require('kafkajs')

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const SECONDS_MAX = 30

function registerCodecs() {
  CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
  // Frames of other clients do not say how long their content is, which only the streaming decoder accepts.
  const zstd = new Promise((resolve) => {
    require('zstd-codec').ZstdCodec.run((binding) => resolve(new binding.Streaming()))
  })
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async (encoder) => Buffer.from((await zstd).compress(encoder.buffer)),
    decompress: async (buffer) => Buffer.from((await zstd).decompress(buffer)),
  })
  try {
    // Compiled when it is installed, so it is missing where there is no compiler.
    const LZ4 = require('kafkajs-lz4')
    CompressionCodecs[CompressionTypes.LZ4] = new LZ4().codec
    return CODECS
  } catch (error) {
    return CODECS.filter((codec) => codec !== 'lz4')
  }
}

const bytes = (text) => (text === '-' ? null : Buffer.from(text, 'base64'))
const text = (content) => (content === null || content === undefined ? '-' : content.toString('base64'))

function parseHeaders(field) {
  const headers = {}
  for (const each of field.split(',').filter(Boolean)) {
    const [name, value] = each.split(':').map(bytes)
    const present = headers[name.toString()]
    headers[name.toString()] = present === undefined ? value : [present, value]
  }
  return headers
}

function formatHeaders(headers) {
  const pairs = []
  for (const [name, values] of Object.entries(headers)) {
    for (const value of Array.isArray(values) ? values : [values]) {
      pairs.push(`${text(Buffer.from(name))}:${text(value)}`)
    }
  }
  return pairs.join(',')
}

function parseLine(line) {
  const [partition, , timestamp, key, value, headers] = line.split('\t')
  return { partition: Number(partition), timestamp, key: bytes(key), value: bytes(value), headers: parseHeaders(headers) }
}

async function write(kafka, topic) {
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: CODECS.length }] })
  await admin.disconnect()

  const messages = fs.readFileSync(0, 'utf8').split('\n').filter(Boolean).map(parseLine)
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  await producer.connect()
  for (const partition of new Set(messages.map((message) => message.partition))) {
    await producer.send({
      topic,
      compression: partition,
      messages: messages.filter((message) => message.partition === partition),
    })
  }
  await producer.disconnect()
}

async function read(kafka, topic, count) {
  const consumer = kafka.consumer({ groupId: `readers-of-${topic}-${process.pid}` })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  let left = count
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`${left} of ${count} records are missing`)), SECONDS_MAX * 1000).unref()
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    consumer
      .run({
        eachMessage: async ({ partition, message }) => {
          const fields = [partition, message.offset, message.timestamp, text(message.key), text(message.value)]
          process.stdout.write(`${[...fields, formatHeaders(message.headers)].join('\t')}\n`)
          left -= 1
          if (left === 0) resolve()
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
}

async function main([mode, bootstrap, topic, count]) {
  const codecs = registerCodecs()
  if (mode === 'codecs') {
    process.stdout.write(`${codecs.join(' ')}\n`)
    return
  }
  const kafka = new Kafka({ clientId: 'suite', brokers: [bootstrap], logLevel: logLevel.ERROR })
  await (mode === 'write' ? write(kafka, topic) : read(kafka, topic, Number(count)))
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  }
)
