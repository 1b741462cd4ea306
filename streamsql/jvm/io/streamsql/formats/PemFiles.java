package io.streamsql.formats;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKey;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import javax.net.ssl.SSLContext;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/**
 * The trusted certificates and the client's own, from PEM files: {@code ssl.ca.location}, {@code
 * ssl.certificate.location}, {@code ssl.key.location} (default: the certificate's file) and {@code
 * ssl.key.password}. Kafka's client reads them; keys are in PKCS #8.
 */
final class PemFiles {
  private static final Pattern ENCRYPTED =
      Pattern.compile(
          "-----BEGIN ENCRYPTED PRIVATE KEY-----(.+?)-----END ENCRYPTED PRIVATE KEY-----",
          Pattern.DOTALL);

  private PemFiles() {}

  /** Empty if neither is configured; the JDK's trust store applies. */
  static Optional<SSLContext> context(Map<String, String> settings) {
    String authorities = settings.get("ssl.ca.location");
    String certificate = settings.get("ssl.certificate.location");
    if (authorities == null && certificate == null) {
      return Optional.empty();
    }
    Map<String, Object> configs = new HashMap<>();
    configs.put(SslConfigs.SSL_PROTOCOL_CONFIG, "TLS");
    // The rest is the JDK's default.
    configs.put(SslConfigs.SSL_CIPHER_SUITES_CONFIG, List.of());
    configs.put(SslConfigs.SSL_ENABLED_PROTOCOLS_CONFIG, List.of());
    if (authorities != null) {
      configs.put(SslConfigs.SSL_TRUSTSTORE_TYPE_CONFIG, DefaultSslEngineFactory.PEM_TYPE);
      configs.put(SslConfigs.SSL_TRUSTSTORE_CERTIFICATES_CONFIG, text(authorities));
    }
    if (certificate != null) {
      String key = settings.getOrDefault("ssl.key.location", certificate);
      configs.put(SslConfigs.SSL_KEYSTORE_TYPE_CONFIG, DefaultSslEngineFactory.PEM_TYPE);
      configs.put(SslConfigs.SSL_KEYSTORE_CERTIFICATE_CHAIN_CONFIG, text(certificate));
      configs.put(
          SslConfigs.SSL_KEYSTORE_KEY_CONFIG, key(text(key), settings.get("ssl.key.password")));
    }
    try (DefaultSslEngineFactory factory = new DefaultSslEngineFactory()) {
      factory.configure(configs);
      return Optional.of(factory.sslContext());
    }
  }

  /** The key without its password: Kafka's client cannot decrypt PBES2. */
  private static Password key(Password file, String password) {
    Matcher encrypted = ENCRYPTED.matcher(file.value());
    if (password == null || !encrypted.find()) {
      return file;
    }
    try {
      byte[] bytes = Base64.getMimeDecoder().decode(encrypted.group(1));
      EncryptedPrivateKeyInfo info = new EncryptedPrivateKeyInfo(bytes);
      // The JDK names PBES2 by its parts, which are in the parameters.
      String algorithm =
          info.getAlgName().equals("PBES2")
              ? info.getAlgParameters().toString()
              : info.getAlgName();
      SecretKey opener =
          SecretKeyFactory.getInstance(algorithm)
              .generateSecret(new PBEKeySpec(password.toCharArray()));
      Cipher cipher = Cipher.getInstance(algorithm);
      cipher.init(Cipher.DECRYPT_MODE, opener, info.getAlgParameters());
      byte[] plain = info.getKeySpec(cipher).getEncoded();
      String lines = Base64.getMimeEncoder().encodeToString(plain);
      return new Password(
          "-----BEGIN PRIVATE KEY-----\n" + lines + "\n-----END PRIVATE KEY-----\n");
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException("cannot open the private key: " + e.getMessage(), e);
    }
  }

  private static Password text(String file) {
    try {
      return new Password(Files.readString(Path.of(file)));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + file, e);
    }
  }
}
