package io.streamsql.iceberg;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Loads Iceberg, and our classes that use it, where the first query needs them: they are not on the
 * class path, which is fixed when the JVM starts. What Iceberg needs beside its own jars (Parquet,
 * Avro, Jackson, Hadoop) is Spark's.
 */
final class LakeLoader extends URLClassLoader {
  private static final String OURS = Lake.class.getPackageName() + ".tables.";
  private static final String ICEBERGS = "org.apache.iceberg.";

  /** By the files that they are loaded from. */
  private static final Map<List<String>, Lake.Provider> PROVIDERS = new HashMap<>();

  static {
    registerAsParallelCapable();
  }

  private LakeLoader(URL[] urls) {
    super("iceberg", urls, Lake.class.getClassLoader());
  }

  /** While Iceberg is in use: it looks for its classes in the thread's class loader. */
  static final class Scope implements AutoCloseable {
    private final ClassLoader before = Thread.currentThread().getContextClassLoader();
    private final Lake.Provider provider;

    private Scope(Lake.Provider provider) {
      this.provider = provider;
      Thread.currentThread().setContextClassLoader(provider.getClass().getClassLoader());
    }

    Lake.Provider provider() {
      return provider;
    }

    @Override
    public void close() {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  static synchronized Scope enter(List<String> jars) {
    return new Scope(PROVIDERS.computeIfAbsent(jars, LakeLoader::load));
  }

  private static Lake.Provider load(List<String> jars) {
    List<URL> urls = new ArrayList<>();
    try {
      for (String jar : jars) {
        urls.add(new File(jar).toURI().toURL());
      }
      URI ours = Lake.class.getProtectionDomain().getCodeSource().getLocation().toURI();
      urls.add(ours.toURL());
      // It lives as long as the JVM.
      @SuppressWarnings("resource")
      ClassLoader loader = new LakeLoader(urls.toArray(URL[]::new));
      Class<?> found = Class.forName(OURS + "IcebergLakes", true, loader);
      return (Lake.Provider) found.getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException | MalformedURLException | URISyntaxException e) {
      throw new IllegalStateException("Iceberg cannot be loaded from " + urls, e);
    }
  }

  /** Its own classes come first: those that need Iceberg are in our jar too, which has it not. */
  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (name.startsWith(OURS) || name.startsWith(ICEBERGS)) {
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded == null ? findClass(name) : loaded;
      }
    }
    return super.loadClass(name, resolve);
  }
}
